# One libFuzzer target a decoder, named tests/fuzz/fuzz-NAME, with its corpus in tests/fuzz/corpus/NAME.
# They are built only with --enable-fuzz.
if ENABLE_FUZZ
# check_PROGRAMS += tests/fuzz/fuzz-frame
# tests_fuzz_fuzz_frame_SOURCES = tests/fuzz/fuzz-frame.c
# tests_fuzz_fuzz_frame_LDADD = $(PROTO_LIBS)
# tests_fuzz_fuzz_frame_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
include $(srcdir)/tests/fuzz/proto.mk
endif
