fuzzer(audit proof 10) # small: soon through
fuzzer(avro decode)
fuzzer(avro json)
fuzzer(avro resolve)
fuzzer(calibration replay)
fuzzer(compare rows)
fuzzer(config text)
fuzzer(judge provider 10) # small: soon through
fuzzer(judge reply)
fuzzer(kafka offsets)
fuzzer(kafka receipts 10) # small: soon through
fuzzer(kafka token 10)
fuzzer(sql analyse)
fuzzer(sql catalog)
fuzzer(sql mysql)
fuzzer(sql sqlite)
fuzzer(target message)
