// Writes the rows of a Parquet file of flights to the standard output as tab-separated values, in the order of the
// columns date, delay, distance, origin, destination. Works on Node 18.
// Usage: node load_flights.mjs DIRECTORY_WITH_NODE_MODULES
import { createRequire } from 'node:module';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const home = path.resolve(process.argv[2] ?? '.');
const modules = path.join(home, 'node_modules');
const file = path.join(modules, 'vega-datasets', 'data', 'flights-3m.parquet');
const sliceRows = 250000;

// The packages are installed beside the data, not beside this script.
async function load(name) {
  const resolved = createRequire(path.join(home, 'package.json')).resolve(name);
  return import(pathToFileURL(resolved).href);
}

function dateTime(value) {
  const date = value instanceof Date ? value : new Date(value);
  return date.toISOString().slice(0, 19).replace('T', ' ');
}

const { parquetMetadataAsync, parquetReadObjects } = await load('hyparquet');
const { compressors } = await load('hyparquet-compressors');
const bytes = await fs.readFile(file);
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const metadata = await parquetMetadataAsync(buffer);
const total = Number(metadata.num_rows);

for (let start = 0; start < total; start += sliceRows) {
  const end = Math.min(start + sliceRows, total);
  const rows = await parquetReadObjects({ file: buffer, metadata, compressors, rowStart: start, rowEnd: end });
  const lines = [];
  for (const row of rows) {
    lines.push(`${dateTime(row.date)}\t${row.delay}\t${row.distance}\t${row.origin}\t${row.destination}\n`);
  }
  if (!process.stdout.write(lines.join(''))) await once(process.stdout, 'drain');
  if (process.stderr.isTTY) process.stderr.write(`\r${end} of ${total} rows`);
}
if (process.stderr.isTTY) process.stderr.write('\n');
