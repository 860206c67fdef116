# tests/unit/test-base: the unit tests of src/base, one file a module.
check_PROGRAMS += tests/unit/test-base
tests_unit_test_base_SOURCES = \
	tests/unit/base/main.c \
	tests/unit/base/suites.h \
	tests/unit/base/test_blob.c \
	tests/unit/base/test_bytes.c \
	tests/unit/base/test_crc32c.c \
	tests/unit/base/test_file.c \
	tests/unit/base/test_heap.c \
	tests/unit/base/test_histogram.c \
	tests/unit/base/test_json.c \
	tests/unit/base/test_json_differential.c \
	tests/unit/base/test_json_number.c \
	tests/unit/base/test_json_values.c \
	tests/unit/base/test_json_write.c \
	tests/unit/base/test_list.c \
	tests/unit/base/test_log.c \
	tests/unit/base/test_log_fields.c \
	tests/unit/base/test_mailbox.c \
	tests/unit/base/test_map.c \
	tests/unit/base/test_mem.c \
	tests/unit/base/test_status.c \
	tests/unit/base/test_text.c \
	tests/unit/base/test_text_json.c \
	tests/unit/base/test_tree.c \
	tests/unit/base/test_uuid.c
tests_unit_test_base_LDADD = src/base/libbase.a $(CHECK_LIBS) $(YAJL_LIBS)
