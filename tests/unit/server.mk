check_PROGRAMS += tests/unit/test-server
tests_unit_test_server_SOURCES = \
	tests/unit/server/main.c \
	tests/unit/server/suites.h \
	tests/unit/server/test_auth.c \
	tests/unit/server/test_config.c
tests_unit_test_server_LDADD = $(SERVER_LIBS) $(CHECK_LIBS)
