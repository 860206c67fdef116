# The unit tests of src/queue.
check_PROGRAMS += tests/unit/test-queue
tests_unit_test_queue_SOURCES = \
	tests/unit/queue/main.c tests/unit/queue/suites.h \
	tests/unit/queue/rig.c tests/unit/queue/rig.h \
	tests/unit/queue/rig_actions.c \
	tests/unit/queue/test_apply.c \
	tests/unit/queue/test_epoch.c \
	tests/unit/queue/test_history.c \
	tests/unit/queue/test_image.c \
	tests/unit/queue/test_image_bad.c \
	tests/unit/queue/test_journal.c \
	tests/unit/queue/test_level.c \
	tests/unit/queue/test_model.c \
	tests/unit/queue/test_record.c \
	tests/unit/queue/test_salvage.c \
	tests/unit/queue/test_settings.c \
	tests/unit/queue/test_sweep.c \
	tests/unit/queue/test_trail.c
tests_unit_test_queue_LDADD = src/queue/libqueue.a src/base/libbase.a $(CHECK_LIBS) $(YAJL_LIBS)
