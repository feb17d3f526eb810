#include "avro/wire.h"

err_t wire_long(struct wire *wire, int64_t *ret_value)
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

static err_t wire_little_endian(struct wire *wire, size_t len, uint64_t *ret_value)
{
	if (wire_left(wire) < len)
		return ERR_AVRO_TRUNCATED;
	uint64_t value = 0;
	for (size_t i = len; i > 0; i--)
		value = value << 8 | wire->at[i - 1];
	wire->at += len;
	*ret_value = value;
	return ERR_OK;
}

err_t wire_float(struct wire *wire, float *ret_value)
{
	uint64_t raw;
	err_t err = wire_little_endian(wire, 4, &raw);
	if (err)
		return err;
	uint32_t bits = (uint32_t)raw;
	memcpy(ret_value, &bits, sizeof *ret_value);
	return ERR_OK;
}

err_t wire_double(struct wire *wire, double *ret_value)
{
	uint64_t bits;
	err_t err = wire_little_endian(wire, 8, &bits);
	if (err)
		return err;
	memcpy(ret_value, &bits, sizeof *ret_value);
	return ERR_OK;
}

err_t wire_bytes(struct wire *wire, str_t *ret_bytes)
{
	int64_t len;
	err_t err = wire_long(wire, &len);
	if (err)
		return err;
	if (len < 0 || (uint64_t)len > wire_left(wire))
		return ERR_AVRO_LENGTH;
	*ret_bytes = (str_t){ (const char *)wire->at, (size_t)len };
	wire->at += len;
	return ERR_OK;
}

err_t wire_skip(struct wire *wire, size_t len)
{
	if (wire_left(wire) < len)
		return ERR_AVRO_TRUNCATED;
	wire->at += len;
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
