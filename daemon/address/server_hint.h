/* What to do about it when a database cannot be connected to, by what its client library says. Pure. */
#pragma once

/* "; " and a mend, or an empty text. Static. */
const char *server_hint(const char *message);
