# What everything stands on. List every .c and .h of this folder.
noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_SOURCES = \
	src/base/blob.c src/base/blob.h \
	src/base/bytes.c src/base/bytes.h \
	src/base/crc32c.c src/base/crc32c.h \
	src/base/file.c src/base/file.h \
	src/base/heap.c src/base/heap.h \
	src/base/json.c src/base/json_number.c src/base/json_write.c \
	src/base/json.h \
	src/base/limits.h \
	src/base/list.h \
	src/base/histogram.c src/base/histogram.h \
	src/base/log.c src/base/log.h \
	src/base/log_fields.c src/base/log_fields.h \
	src/base/mailbox.c src/base/mailbox.h \
	src/base/map.c src/base/map.h \
	src/base/mem.c src/base/mem.h \
	src/base/status.c src/base/status.h \
	src/base/text.c src/base/text.h \
	src/base/tree.c src/base/tree.h \
	src/base/uuid.c src/base/uuid.h
