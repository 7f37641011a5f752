package yarnclient_test

import "heddle/traces/errtest"

var mustDo = errtest.None
