# The runner of the broker's transcripts. It shares the world of the broker's unit tests.
check_PROGRAMS += tests/trace/run-traces
tests_trace_run_traces_SOURCES = \
	tests/trace/run-traces.c \
	tests/trace/events.c tests/trace/events.h \
	tests/trace/show.c tests/trace/show.h \
	tests/unit/broker/world.c tests/unit/broker/world.h
tests_trace_run_traces_LDADD = $(BROKER_LIBS)
