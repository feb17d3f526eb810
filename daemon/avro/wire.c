#include "avro/wire.h"

err_t wire_long_of_any_length(struct wire *wire, int64_t *ret_value)
{
	uint64_t raw = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (wire->at == wire->end)
			return ERR_AVRO_TRUNCATED;
		unsigned char byte = *wire->at++;
		if (shift == 63 && byte > 1)
			return ERR_AVRO_VALUE;
		raw |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	*ret_value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
	return ERR_OK;
}

err_t wire_int(struct wire *wire, int32_t *ret_value)
{
	int64_t value;
	err_t err = wire_long(wire, &value);
	if (err)
		return err;
	if (value < INT32_MIN || value > INT32_MAX)
		return ERR_AVRO_VALUE;
	*ret_value = (int32_t)value;
	return ERR_OK;
}

err_t wire_boolean(struct wire *wire, bool *ret_value)
{
	if (wire->at == wire->end)
		return ERR_AVRO_TRUNCATED;
	if (*wire->at > 1)
		return ERR_AVRO_VALUE;
	*ret_value = *wire->at++;
	return ERR_OK;
}

err_t wire_float(struct wire *wire, float *ret_value)
{
	const unsigned char *at = wire->at;
	if (wire_left(wire) < 4)
		return ERR_AVRO_TRUNCATED;
	uint32_t bits =
		(uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
	memcpy(ret_value, &bits, sizeof *ret_value);
	wire->at += 4;
	return ERR_OK;
}

err_t wire_block(struct wire *wire, uint64_t *ret_count, int64_t *ret_size_bytes)
{
	int64_t count, size = -1;
	err_t err = wire_long(wire, &count);
	if (err)
		return err;
	if (count < 0) {
		err = wire_long(wire, &size);
		if (err)
			return err;
		if (size < 0 || (uint64_t)size > wire_left(wire))
			return ERR_AVRO_LENGTH;
	}
	*ret_count = count < 0 ? -(uint64_t)count : (uint64_t)count;
	*ret_size_bytes = size;
	return ERR_OK;
}
