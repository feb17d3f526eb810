// What JavaScript itself (V8) reads of mongosh texts: a JSON string a line on standard input, a document a line on standard
// output: {"error": …}, or the parts of the command as tests/harness/fixtures/mongodb_tool.c names them, values as Extended JSON.
// Nothing is run on a server: `db` notes what is called.
import readline from "node:readline";
import vm from "node:vm";

const METHODS = ["find", "findOne", "aggregate", "countDocuments", "count", "distinct", "estimatedDocumentCount"];

class Tagged {
  constructor(value) {
    this.value = value;
  }
}

const tagged = (name, text) => (...given) => new Tagged({ [name]: text(...given) });

const isoDate = (text) => {
  const local = !/(Z|[+-]\d\d:?\d\d)$/.test(text ?? "") && (text ?? "").length > 10;
  return text === undefined ? new Date() : new Date(local ? `${text}Z` : text);
};

function read(text) {
  let seen = null;
  const cursor = new Proxy({}, {
    get: (_, method) => typeof method === "symbol" ? undefined : (...given) => {
      seen.chain.push([method, given]);
      return cursor;
    },
  });
  const collection = (name) => new Proxy({}, {
    get: (_, method) => typeof method === "symbol" ? undefined : !METHODS.includes(method) ? collection(`${name}.${method}`) : (...given) => {
      seen = { name, method, given, chain: [] };
      return cursor;
    },
  });
  const db = new Proxy({}, {
    get: (_, name) => typeof name === "symbol" ? undefined : name === "getCollection" ? collection :
      name === "aggregate" ? collection().aggregate : collection(name),
  });
  vm.runInNewContext(text, {
    db, ISODate: isoDate,
    ObjectId: tagged("$oid", (digits) => digits.toLowerCase()),
    NumberInt: tagged("$numberInt", String), NumberLong: tagged("$numberLong", String), NumberDecimal: tagged("$numberDecimal", String),
  }, { timeout: 2000 });
  return seen;
}

function parts({ name, method, given, chain }) {
  const out = { collection: name };
  if (method === "aggregate")
    out.pipeline = Array.isArray(given[0]) || kind(given[0]) === "Array" ? given[0] : given;
  else if (method === "distinct")
    [out.key, out.filter] = given;
  else
    [out.filter, out.projection] = method === "find" || method === "findOne" ? given : [given[0]];
  for (const [called, [value]] of chain)
    if (["sort", "skip", "limit"].includes(called)) out[called] = value;
    else if (["project", "projection"].includes(called)) out.projection = value;
  return Object.fromEntries(Object.entries(out).filter(([, value]) => value !== undefined && value !== null));
}

const kind = (value) => Object.prototype.toString.call(value).slice(8, -1);

function plain(value) {
  if (value instanceof Tagged) return value.value;
  switch (kind(value)) {
    case "Number": return { $numberDouble: Object.is(value, -0) ? "0" : String(value) };
    case "Date": return { $date: { $numberLong: String(value.getTime()) } };
    case "RegExp": return { $regularExpression: { pattern: value.source } };
    case "Array": return Array.from(value, plain);
    case "Undefined": case "Null": return null;
    case "String": case "Boolean": return value.valueOf();
    case "Object": return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
    default: throw new TypeError(`${kind(value)} is no value`);
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  let out;
  try {
    const seen = read(JSON.parse(line));
    out = seen ? plain(parts(seen)) : { error: "no query" };
  } catch (error) {
    out = { error: String(error) };
  }
  console.log(JSON.stringify(out).replace(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`));
}
