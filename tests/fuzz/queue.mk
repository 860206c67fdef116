# The libFuzzer targets of src/queue. Included only with --enable-fuzz.
check_PROGRAMS += tests/fuzz/fuzz-records tests/fuzz/fuzz-image

tests_fuzz_fuzz_records_SOURCES = tests/fuzz/fuzz_records.c tests/fuzz/fuzz.h \
	tests/fuzz/records_fit.c tests/fuzz/records_fit.h
tests_fuzz_fuzz_records_LDADD = $(QUEUE_LIBS)
tests_fuzz_fuzz_records_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

# The loader's look at the digest can be taken out, so that what it guards is reached.
tests_fuzz_fuzz_image_SOURCES = tests/fuzz/fuzz_image.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_image_LDADD = $(QUEUE_LIBS)
tests_fuzz_fuzz_image_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=digest_join
