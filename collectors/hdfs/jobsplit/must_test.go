package jobsplit

import "heddle/traces/errtest"

var wantError = errtest.Has
