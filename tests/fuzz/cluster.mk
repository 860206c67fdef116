# The libFuzzer targets of cluster/ and raft/. Included only with --enable-fuzz.
check_PROGRAMS += tests/fuzz/fuzz-cluster tests/fuzz/fuzz-disk

tests_fuzz_fuzz_cluster_SOURCES = tests/fuzz/fuzz_cluster.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_cluster_LDADD = $(CLUSTER_LIBS)
tests_fuzz_fuzz_cluster_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

tests_fuzz_fuzz_disk_SOURCES = tests/fuzz/fuzz_disk.c tests/fuzz/fuzz.h \
	tests/fuzz/logmaker.c tests/fuzz/logmaker.h
tests_fuzz_fuzz_disk_LDADD = raft/librdisk.a $(RLOG_LIBS)
tests_fuzz_fuzz_disk_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
