// validate.js FILE: whether AsyncAPI's own parser, with its parser of Avro schemas, finds an error in the document. Prints what
// it found, and the channels and messages that it read.
const { Parser, fromFile } = require("@asyncapi/parser");
const { AvroSchemaParser } = require("@asyncapi/avro-schema-parser");

async function main(file) {
  const parser = new Parser();
  parser.registerSchemaParser(AvroSchemaParser());
  const { document, diagnostics } = await fromFile(parser, file).parse();
  const errors = diagnostics.filter(({ severity }) => severity === 0);
  for (const { message, path } of errors) console.log(`${path.join(".")}: ${message}`);
  if (!document || errors.length) return 1;
  for (const channel of document.channels())
    console.log(`${channel.id()}: ${channel.messages().all().map((message) => message.id()).join(" ")}`);
  return 0;
}

main(process.argv[2]).then((status) => process.exit(status));
