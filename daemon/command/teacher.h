/*
 * Where a command's codec has the schemas from that messages name by a registry: those that the daemon has
 * kept in its state directory, which is read and never changed, and the registry.
 *
 * What was kept comes first. A registry's id means one schema for good, and files are bound to the addresses
 * of their registry, so both say the same, and the records are read as the daemon reads them; while the
 * registry is away nobody has to wait until a request has failed.
 */
#pragma once

#include "avro/codec.h"
#include "avro/registry/registry_settings.h"

/* Has the codec learn what it meets; from then on the settings' arena is the codec's, and goes with it. By
 * the owner, while nobody else has the codec. */
void teacher_attach(const struct registry_settings *settings, struct arena *arena, struct codec *codec);
