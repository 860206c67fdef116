# The libFuzzer targets of src/server. Included only with --enable-fuzz.
check_PROGRAMS += tests/fuzz/fuzz-backup tests/fuzz/fuzz-config

tests_fuzz_fuzz_backup_SOURCES = tests/fuzz/fuzz_backup.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_backup_LDADD = $(SERVER_LIBS)
tests_fuzz_fuzz_backup_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_config_LDADD = $(SERVER_LIBS)
tests_fuzz_fuzz_config_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
