/* Logins: the first request of a connection. */
#ifndef HF_BROKER_LOGIN_H
#define HF_BROKER_LOGIN_H

#include "broker/parcel.h"

struct broker;

/* Takes the request: refuses it at once, or has its password verified. */
void login_handle(struct broker *b, struct request *r);

#endif
