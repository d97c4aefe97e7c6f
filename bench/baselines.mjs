// What a file costs to read at all: the documented ways of reading it with the usual tools, counting rows.
//   node bench/baselines.mjs <form> <file>
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse';
import { node } from './measure.mjs';

const THIS = fileURLToPath(import.meta.url);

/** Each reads the whole file as a stream and counts its rows; of CSV, as objects (`columns: true`). */
const FORMS = {
  'csv-parse, readable events': async (file) => {
    let rows = 0;
    const parser = parse({ columns: true });
    parser.on('readable', () => {
      while (parser.read() !== null) rows++;
    });
    await pipeline(createReadStream(file), parser);
    return rows;
  },
  'csv-parse, on_record': async (file) => {
    let rows = 0;
    const on_record = () => {
      rows++;
      return null; // takes the row off the stream: nothing is buffered
    };
    await pipeline(createReadStream(file), parse({ columns: true, on_record }).resume());
    return rows;
  },
  'readline and JSON.parse': async (file) => {
    let rows = 0;
    for await (const line of createInterface({ input: createReadStream(file) })) {
      if (JSON.parse(line) !== null) rows++;
    }
    return rows;
  },
};

/** Reads a file in one of `FORMS`. @throws Error when it counts other rows than there are */
export const reading = (form, file, rows) => async () => {
  const sample = await node(THIS, [form, file], { stdout: true });
  if (Number(sample.stdout) !== rows) throw new Error(`${form} counted ${sample.stdout} rows of ${rows}`);
  return sample;
};

if (process.argv[1] === THIS) {
  const [form, file] = process.argv.slice(2);
  console.log(await FORMS[form](file));
}
