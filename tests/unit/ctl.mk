check_PROGRAMS += tests/unit/test-ctl
tests_unit_test_ctl_SOURCES = \
	tests/unit/ctl/main.c \
	tests/unit/ctl/suites.h \
	tests/unit/ctl/test_answer.c \
	tests/unit/ctl/test_dial.c \
	tests/unit/ctl/test_failure.c \
	tests/unit/ctl/test_login.c \
	tests/unit/ctl/test_options.c \
	tests/unit/ctl/test_progress.c \
	tests/unit/ctl/test_table.c \
	tests/unit/ctl/test_terminal.c
tests_unit_test_ctl_LDADD = $(CTL_LIBS) $(CHECK_LIBS)
