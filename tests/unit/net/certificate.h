/* Certificate: self-made ones for tests. */
#ifndef TEST_NET_CERTIFICATE_H
#define TEST_NET_CERTIFICATE_H

/* Writes DIR/cert.pem and DIR/key.pem, valid from days_from to days_to (from now). */
void certificate_make(const char *dir, int days_from, int days_to);

#endif
