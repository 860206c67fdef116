# The unit tests of src/broker.
check_PROGRAMS += tests/unit/test-broker
tests_unit_test_broker_SOURCES = \
	tests/unit/broker/main.c tests/unit/broker/suites.h \
	tests/unit/broker/model.c tests/unit/broker/model.h \
	tests/unit/broker/model_events.c \
	tests/unit/broker/test_batch.c \
	tests/unit/broker/test_bounds.c \
	tests/unit/broker/test_bulk.c \
	tests/unit/broker/test_clock.c \
	tests/unit/broker/test_damaged.c \
	tests/unit/broker/test_ids.c \
	tests/unit/broker/test_login.c \
	tests/unit/broker/test_model.c \
	tests/unit/broker/test_parcel.c \
	tests/unit/broker/test_room.c \
	tests/unit/broker/world.c tests/unit/broker/world.h
tests_unit_test_broker_LDADD = src/broker/libbroker.a src/queue/libqueue.a \
	src/base/libbase.a $(CHECK_LIBS) $(YAJL_LIBS)
