# Benchmarks of parts: check_PROGRAMS, so that they are built with the tests. `make bench` runs them.
check_PROGRAMS += tests/bench/bench-message
tests_bench_bench_message_SOURCES = tests/bench/message.c \
	tests/unit/broker/world.c tests/unit/broker/world.h
tests_bench_bench_message_LDADD = src/proto/libproto.a src/broker/libbroker.a src/queue/libqueue.a \
	src/base/libbase.a $(YAJL_LIBS) $(ZLIB_LIBS)

# All of them, about ten minutes; BENCH=--short for two. Nodes and load want the machine for themselves.
.PHONY: bench
bench: all tests/bench/bench-message
	tests/bench/bench-message
	HOLDFAST_BIN=$(abs_builddir) $(srcdir)/tests/bench/instructions
	HOLDFAST_BIN=$(abs_builddir) node $(srcdir)/tests/bench/growth.mjs $(BENCH)
	HOLDFAST_BIN=$(abs_builddir) node $(srcdir)/tests/bench/gaps.mjs $(if $(BENCH),5,50)
