# One libFuzzer target a decoder, named tests/fuzz/fuzz-NAME, with its corpus in tests/fuzz/corpus/NAME.
# They are built only with --enable-fuzz.
if ENABLE_FUZZ
include $(srcdir)/tests/fuzz/cluster.mk
include $(srcdir)/tests/fuzz/proto.mk
include $(srcdir)/tests/fuzz/queue.mk
include $(srcdir)/tests/fuzz/server.mk
endif
