# The libFuzzer targets of src/proto. Included only with --enable-fuzz.
check_PROGRAMS += tests/fuzz/fuzz-http tests/fuzz/fuzz-frames tests/fuzz/fuzz-request tests/fuzz/fuzz-proxy \
	tests/fuzz/fuzz-inflate

FUZZ_PROTO_LIBS = src/proto/libproto.a src/broker/libbroker.a src/queue/libqueue.a src/base/libbase.a \
	$(OPENSSL_LIBS) $(ZLIB_LIBS) $(YAJL_LIBS)

tests_fuzz_fuzz_http_SOURCES = tests/fuzz/fuzz_http.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_http_LDADD = $(FUZZ_PROTO_LIBS)
tests_fuzz_fuzz_http_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

tests_fuzz_fuzz_frames_SOURCES = tests/fuzz/fuzz_frames.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_frames_LDADD = $(FUZZ_PROTO_LIBS)
tests_fuzz_fuzz_frames_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

tests_fuzz_fuzz_request_SOURCES = tests/fuzz/fuzz_request.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_request_LDADD = $(FUZZ_PROTO_LIBS)
tests_fuzz_fuzz_request_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

tests_fuzz_fuzz_proxy_SOURCES = tests/fuzz/fuzz_proxy.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_proxy_LDADD = $(FUZZ_PROTO_LIBS)
tests_fuzz_fuzz_proxy_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

tests_fuzz_fuzz_inflate_SOURCES = tests/fuzz/fuzz_inflate.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_inflate_LDADD = $(FUZZ_PROTO_LIBS)
tests_fuzz_fuzz_inflate_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
