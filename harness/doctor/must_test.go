package doctor

import "heddle/traces/errtest"

var mustDo = errtest.None
