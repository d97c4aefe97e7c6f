/** Which rules apply to which of several inputs, what their rows are, and whether what is advised works when it is pasted. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CliResult, cli, scratch } from '../../support/cli.js';
import { workbook } from '../../support/workbook.js';

const COMPANIES = 'Record ID,Company name,Email\nr1,Acme,info@acme.example\nr2,Bolt,\n';
const CONTACTS =
  'Record ID,First Name,Email,Associated Company ID\n9,Ann,ann@acme.example,r1\n10,Bo,bo@bolt.example,r2\n';

interface Item {
  company_id?: string;
  user_id?: string;
  metadata?: Record<string, unknown>;
}
interface Run extends CliResult {
  /** By path: kind and first item of each input. */
  files: Record<string, { kind: string; sample: Item }>;
  /** Commands that were printed, as words. */
  printed: string[][];
  paste(command: readonly string[]): Promise<Run>;
}

/** A folder with files, and the command in it. */
function folder(
  files: Record<string, string | Uint8Array>,
): (words: string | readonly string[]) => Promise<Run> {
  const cwd = scratch(files);
  const env = { HOME: cwd, XDG_CONFIG_HOME: join(cwd, '.config'), PROFILES_STATE_DIR: join(cwd, '.state') };
  const run = async (words: string | readonly string[]): Promise<Run> => {
    const argv = typeof words === 'string' ? shellWords(words) : words;
    const result = await cli([...argv], { cwd, env });
    const document = result.stdout.startsWith('{') ? JSON.parse(result.stdout) : {};
    const list: { path: string; kind: string; sample: Item }[] = document.plan?.files ?? document.files ?? [];
    const printed = result.stderr
      .split('\n')
      .flatMap((line) => /^ +profiles (.*)$/.exec(line)?.[1] ?? [])
      .filter((line) => /^(?:import|inspect) /.test(line))
      .map(shellWords);
    return {
      ...result,
      printed,
      files: Object.fromEntries(list.map((file) => [file.path, file])),
      paste: run,
    };
  };
  return run;
}

/** As a POSIX shell takes them: quotes, and a quote within quotes. */
const shellWords = (line: string): string[] =>
  [...line.matchAll(/(?:'[^']*'|\\.|[^\s'\\])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|\\(.)/g, (_, quoted: string | undefined, plain: string) => quoted ?? plain),
  );

const plan = '--dry-run --json --region sandbox';

describe('a rule applies to every input that has its column', () => {
  const run = folder({
    'companies.csv': 'company_id,name,city\nc1,Acme,Lyon\n',
    'users.csv': 'user_id,company_id,email,city\nu1,c1,a@b.example,Nice\n',
    'more.ndjson': '{"user_id":"u2","age":5}\n{"user_id":"u3","late":true}\n',
  });

  it('in CSV and in JSON, also for a field that comes late', async () => {
    const { code, files } = await run(
      `import companies.csv users.csv more.ndjson --map name=title --exclude email --map late=on_time --type age=integer ${plan}`,
    );
    expect(code).toBe(0);
    expect(files).toMatchObject({
      'companies.csv': { sample: { company_id: 'c1', metadata: { title: 'Acme', city: 'Lyon' } } },
      'users.csv': { sample: { user_id: 'u1', company_id: 'c1', metadata: { city: 'Nice' } } },
      'more.ndjson': { sample: { user_id: 'u2', metadata: { age: 5 } } },
    });
  });

  it.each([
    [
      'a column that no input has',
      '--map nmae=x',
      '--map: companies.csv, users.csv has no column "nmae"',
      'did you mean "name"?',
    ],
    ['of many', '--exclude "emial"', 'has no column "\\"emial\\""', ''],
  ])('%s is refused, with the nearest name', async (_, flags, message, hint) => {
    const { code, stderr } = await run(
      `import companies.csv users.csv ${flags.replace('"emial"', 'emial')} ${plan}`,
    );
    expect(code).toBe(2);
    expect(stderr).toContain(message.replace('\\"emial\\"', 'emial'));
    expect(stderr).toContain(hint);
  });

  it.each([
    ['a key of no name', '--map name=', '--map: "name=" is not of the form column=key'],
    ['a key that is set twice', '--set tier=gold --set tier=silver', '--set: the key "tier" appears twice'],
    ['a column with two keys', '--map name=a --map name=b', '--map: the column "name" appears twice'],
    ['a column with two types', '--type city=string --type city=lower', '--type: the column "city" appears'],
    ['a column in and out', '--include name --exclude name', '--include name and --exclude name contradict'],
    ['a key of a column out', '--map name=a --exclude name', '--map name=a and --exclude name contradict'],
    ['a bound and none', '--skip-invalid --max-invalid 3', '--skip-invalid and --max-invalid cannot be'],
  ])('%s is refused', async (_, flags, message) => {
    const { code, stdout, stderr } = await run(`import companies.csv ${flags} ${plan}`);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('the same flag once more says nothing else', async () => {
    const flags = '--type city=string --map name=title --set tier=gold';
    const { code, files } = await run(`import companies.csv ${flags} ${flags} ${plan}`);
    expect(code).toBe(0);
    expect(files['companies.csv']!.sample).toMatchObject({ metadata: { title: 'Acme', tier: 'gold' } });
  });

  it.each([
    [
      'companies.csv',
      '--set company_id=x',
      'is the identifier',
      'leave it out, and name its column: --id <column>',
    ],
    ['users.csv', '--set user_id=x', 'is the identifier', 'leave it out, and name its column: --id <column>'],
    [
      'more.ndjson',
      '--set company_id=x',
      "is the user's company",
      'leave it out, and name its column: --company-id <column>',
    ],
    [
      'users.csv',
      '--map city=company_id',
      "is the user's company",
      'leave that out, and name the column instead: --company-id city',
    ],
  ])('an identifier is not metadata: %s %s', async (input, flags, message, hint) => {
    const { code, stdout, stderr } = await run(`import ${input} ${flags} ${plan}`);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`${message}, not metadata`);
    expect(stderr).toContain(hint);
  });

  it('user_id is metadata of a company', async () => {
    const { files } = await run(`import companies.csv --set user_id=u1 ${plan}`);
    expect(files['companies.csv']!.sample.metadata).toMatchObject({ user_id: 'u1' });
  });

  it('a field of JSON that no item has is refused once all are read', async () => {
    const { code, stderr } = await run(`import users.csv more.ndjson --exclude laet ${plan}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean "late"?')]);
  });

  it('--include names columns of any input, and leaves out all others', async () => {
    const { files } = await run(`import companies.csv users.csv --include name ${plan}`);
    expect(files['companies.csv']!.sample).toEqual({ company_id: 'c1', metadata: { name: 'Acme' } });
    expect(files['users.csv']!.sample).toEqual({ user_id: 'u1', company_id: 'c1' });
  });

  it('what is metadata in one input may be the identifier in another', async () => {
    const { code, files } = await run(
      `import companies.csv users.csv --user-id email --map city=town ${plan}`,
    );
    expect(code).toBe(0);
    expect(files['users.csv']!.sample).toMatchObject({ user_id: 'a@b.example', metadata: { town: 'Nice' } });
    const refused = await run(`import users.csv --user-id email --map email=x ${plan}`);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('it is the identifier')]);
  });
});

describe('--user-id and --company-id', () => {
  it('name both where companies and users come together', async () => {
    const run = folder({
      'c.csv': 'Account,name\na1,Acme\n',
      'u.csv': 'Mail,Account,age\na@b.example,a1,5\n',
    });
    const { code, files } = await run(`import c.csv u.csv --user-id Mail --company-id Account ${plan}`);
    expect(code).toBe(0);
    expect(files).toMatchObject({
      'c.csv': { kind: 'companies', sample: { company_id: 'a1', metadata: { name: 'Acme' } } },
      'u.csv': { kind: 'users', sample: { user_id: 'a@b.example', company_id: 'a1', metadata: { age: 5 } } },
    });
    const wrong = await run(`import c.csv u.csv --user-id Mial --company-id Account ${plan}`);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('--user-id: ');
  });

  it('are ignored for inputs without the column', async () => {
    const run = folder({ 'c.csv': 'Record,name\nr1,Acme\n', 'u.csv': 'user_id,company_id\nu1,r1\n' });
    const { files } = await run(`import c.csv u.csv --company-id Record ${plan}`);
    expect(files).toMatchObject({
      'c.csv': { kind: 'companies', sample: { company_id: 'r1' } },
      'u.csv': { kind: 'users', sample: { user_id: 'u1', company_id: 'r1' } },
    });
  });

  it('replace --id, which is for one kind; the printed command does so', async () => {
    const run = folder({
      'my c.csv': 'company_id,name\nc1,Acme\n',
      'u.csv': 'user_id,company_id,Mail\nu1,c1,a@b.example\n',
    });
    const { code, stderr, printed, paste } = await run(`import 'my c.csv' u.csv --id Mail ${plan}`);
    expect(code).toBe(2);
    expect(stderr).toContain('--id Mail: the inputs are companies and users');
    const { code: then, files } = await paste(printed[0]!);
    expect(then).toBe(0);
    expect(files['u.csv']!.sample).toMatchObject({ user_id: 'a@b.example', company_id: 'c1' });
    expect(files['my c.csv']!.sample).toMatchObject({ company_id: 'c1' });
  });
});

describe('names', () => {
  it.each([
    ['Company ID,name', 'companies'],
    ['companyId,name', 'companies'],
    ['COMPANY-ID,name', 'companies'],
    ['User Id,company id', 'users'],
    ['company_id,userID', 'users'],
  ])('%s means %s', async (header, kind) => {
    const run = folder({
      'a.csv': `${header}\nx,y\n`,
      'a.json': JSON.stringify([Object.fromEntries(header.split(',').map((name) => [name, 'x']))]),
    });
    expect((await run(`import a.csv ${plan}`)).files['a.csv']!.kind).toBe(kind);
    expect((await run(`import a.json ${plan}`)).files['a.json']!.kind).toBe(kind);
  });

  it('an exact name wins', async () => {
    const run = folder({ 'a.csv': 'Company ID,company_id\nx,y\n' });
    expect((await run(`import a.csv ${plan}`)).files['a.csv']!.sample).toEqual({
      company_id: 'y',
      metadata: { 'Company ID': 'x' },
    });
  });

  it('a column that a rule names is not matched', async () => {
    const run = folder({ 'a.csv': 'user_id,Company ID\nu,x\n' });
    for (const [flags, sample] of [
      ["--map 'Company ID=old'", { user_id: 'u', metadata: { old: 'x' } }],
      ["--include 'Company ID'", { user_id: 'u', metadata: { 'Company ID': 'x' } }],
      ["--exclude 'Company ID'", { user_id: 'u' }],
      ['', { user_id: 'u', company_id: 'x' }],
    ] as const) {
      expect((await run(`import a.csv ${flags} ${plan}`)).files['a.csv']!.sample).toEqual(sample);
    }
  });

  it('two matching names are an error, and the printed command resolves it', async () => {
    const run = folder({
      'a.csv': 'user_id,Company ID,company-id\nu,x,y\n',
      'b.csv': 'Company ID,CompanyId\nx,y\n',
    });
    for (const file of ['a.csv', 'b.csv']) {
      const { code, stderr, printed, paste } = await run(`import ${file} ${plan}`);
      expect([code, stderr]).toEqual([2, expect.stringContaining('may both be the company_id')]);
      const { code: then, files } = await paste(printed[0]!);
      expect([then, files[file]!.sample.company_id]).toEqual([0, 'x']);
    }
  });
});

describe('rows that name a user and a company', () => {
  const many = (line: (n: number) => string): string =>
    Array.from({ length: 50 }, (_, n) => `${line(n)}\n`).join('');

  it('are users', async () => {
    const run = folder({
      'a.csv': `user_id,company_id\n${many((n) => `u${n},c${n % 3}`)}`,
      'unique.csv': `user_id,company_id\n${many((n) => `u${n},c${n}`)}`,
      'both.csv': `user_id,company_id\n${many((n) => `u${n % 2},c${n % 3}`)}`,
      'none.csv': 'user_id,company_id\nu1,\nu1,\n',
    });
    for (const name of ['a.csv', 'unique.csv', 'both.csv', 'none.csv']) {
      const { code, files } = await run(`import ${name} ${plan}`);
      expect([code, files[name]!.kind]).toEqual([0, 'users']);
    }
  });

  it('are ambiguous if users repeat and companies do not; either printed command resolves it', async () => {
    const run = folder({ 'a.csv': `user_id,company_id,n\n${many((n) => `u${n % 5},c${n},${n}`)}` });
    const { code, stderr, printed, paste } = await run(`import a.csv ${plan}`);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(
        'a.csv may contain users or companies: user_id repeats and company_id does not',
      ),
    ]);
    const [companies, users] = [await paste(printed[0]!), await paste(printed[1]!)];
    expect([companies.code, companies.files['a.csv']!.sample]).toEqual([
      0,
      { company_id: 'c0', metadata: { user_id: 'u0', n: 0 } },
    ]);
    expect([users.code, users.files['a.csv']!.sample]).toEqual([
      0,
      { user_id: 'u0', company_id: 'c0', metadata: { n: 0 } },
    ]);
    const looked = await run('inspect a.csv');
    expect(looked.code).toBe(0);
    expect(looked.stderr).toContain('it may contain users or companies');
    expect(looked.printed.map(([command]) => command)).toEqual(['import', 'import']);
  });

  it('that a company is named twice is seen in another batch, and on threads', async () => {
    const wide = (n: number): string => `u${n % 7},c${n === 30_000 ? 0 : n},${'x'.repeat(20)}`;
    const rows = Array.from({ length: 30_001 }, (_, n) => `${wide(n)}\n`);
    const run = folder({
      'again.csv': `user_id,company_id,n\n${rows.join('')}`,
      'once.csv': `user_id,company_id,n\n${rows.slice(0, -1).join('')}`,
    });
    expect((await run(`import again.csv ${plan}`)).code).toBe(0);
    expect((await run(`import once.csv ${plan}`)).code).toBe(2);
  });
});

describe('JSON that contradicts the flags', () => {
  const run = folder({
    'body.json': '{"companies":[{"company_id":"c1"}]}',
    'lines.ndjson': '{"company_id":"c1"}\n{"company_id":"c2"}\n',
    'cells.csv': 'company_id\nc1\n',
  });

  it.each([
    ['body.json --kind users', '--kind users: body.json contains {"companies": […]}', 'leave --kind out'],
    [
      'lines.ndjson --format ndjson --json-path data.items',
      '--json-path leads to an array in a JSON file; the format is ndjson',
      'leave --json-path out, or set --format json',
    ],
    [
      'cells.csv --json-path data.items',
      '--json-path leads to an array in a JSON file; the format is csv',
      'leave --json-path out, or set --format json',
    ],
  ])('import %s', async (words, message, hint) => {
    const { code, stderr, stdout } = await run(`import ${words} ${plan}`);
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr.trim().split('\n').at(-1)!).error).toMatchObject({ message, hint });
  });
});

describe('--sheet', () => {
  const run = folder({
    'cells.csv': 'company_id\nc1\n',
    'lines.ndjson': '{"company_id":"c1"}\n',
    'book.xlsx': workbook([['company_id'], ['c2']]),
  });

  it.each([`import cells.csv ${plan}`, `import lines.ndjson cells.csv ${plan}`, 'inspect cells.csv'])(
    '%s: where no input is a workbook, it is refused',
    async (words) => {
      const { code, stderr } = await run(`${words} --sheet S`);
      expect(code).toBe(2);
      expect(stderr).toContain('--sheet names a sheet of a workbook; the format is ');
      expect(stderr).toContain('leave --sheet out');
    },
  );

  it('is for the workbooks among other inputs', async () => {
    const { code, files } = await run(`import cells.csv book.xlsx --sheet S ${plan}`);
    expect([code, Object.keys(files)]).toEqual([0, ['cells.csv', 'book.xlsx']]);
  });
});

describe('JSON with rows below the top level', () => {
  it.each(['import', 'inspect'])('%s: the command that reads them works', async (command) => {
    const run = folder({ 'deep.json': '{"data":{"list":[{"company_id":"1"}]},"z":1}' });
    const { code, stderr, printed, paste } = await run(
      `${command} deep.json ${command === 'import' ? plan : ''}`,
    );
    expect(code).toBe(2);
    expect(stderr).toContain('if the rows are in data.list:\n    profiles ');
    expect(printed[0]).toEqual(expect.arrayContaining([command, 'deep.json', '--json-path', 'data.list']));
    expect((await paste(printed[0]!)).code).toBe(0);
  });
});

describe('columns that do not show the kind', () => {
  it.each([
    ['Symbol,Security', ['--kind', 'companies', '--id', 'Symbol']],
    ['Name,Record ID', ['--kind', 'companies', '--id', 'Record ID']],
    ['Name,Account Number', ['--kind', 'companies', '--id', 'Account Number']],
    ['First Name,Email', ['--kind', 'users', '--id', 'Email']],
    ['id,email', ['--kind', 'users', '--id', 'id']],
    ["Contact's ID,Last Name", ['--kind', 'users', '--id', "Contact's ID"]],
  ])('%s: the command for the likeliest reading works', async (header, words) => {
    const run = folder({ 'my export.csv': `${header},Note\nx,y,z\n` });
    const { code, stderr, printed, paste } = await run(`import 'my export.csv' --exclude Note ${plan}`);
    expect(code).toBe(2);
    expect(stderr).toContain(`no column user_id or company_id among ${header.split(',').join(', ')}`);
    expect(printed[0]).toEqual(expect.arrayContaining([...words, 'my export.csv', '--exclude', 'Note']));
    expect((await paste(printed[0]!)).code).toBe(0);
  });

  it.each([
    ['42|Acme|2024-03-31 14:05:11', '42'],
    ['c1|\\N|t', '\\N'],
    ['Ada|ada@example.com', 'ada@example.com'],
    ['c1|1.50', '1.50'],
    ['c1|2024-03-31', '2024-03-31'],
    ['Account|2023|2024', null],
    ['Symbol|Q1 2024', null],
  ])('%s: may be a row of a file without a header (%s)', async (first, value) => {
    const run = folder({ unload: `${first}\n${first}\n` });
    const { code, stderr } = await run(`import unload ${plan}`);
    expect(code).toBe(2);
    const advice = `; "${value}" looks like a value: if the file has no header, add a line with the names of its columns above it\n`;
    if (value === null) expect(stderr).not.toContain('header');
    else expect(stderr).toContain(` among ${first.split('|').join(', ')}${advice}`);
  });

  it.each([
    ["--map 'Kunden Nr=company_id'", { company_id: 'k' }],
    ["--map='Kunden Nr=user_id' --map Firma=company_id", { user_id: 'k', company_id: 'f' }],
    ["--kind users --type 'Kunden Nr=integer' --map 'Kunden Nr=user_id'", { user_id: 'k' }],
    ["--map 'Kunden Nr=number'", { company_id: 'f', metadata: { number: 'k', Ort: 'o' } }],
    ["--exclude 'Kunden Nr'", { company_id: 'f', metadata: { Ort: 'o' } }],
    ["--exclude 'Kunden Nr' --exclude Firma --exclude=Ort", { company_id: 'k' }],
    ["--type 'Kunden Nr=lower'", { company_id: 'k' }],
    [
      '--set company_id=x --set=company_id=x --set user_id=y',
      { company_id: 'k', metadata: { user_id: 'y' } },
    ],
    ['--kind users --set user_id=x --set company_id=x --set a=b', { user_id: 'k', metadata: { a: 'b' } }],
  ])('%s: the command has no rule that its identifier cannot have', async (rules, item) => {
    const run = folder({ 'a.csv': 'Kunden Nr,Firma,Ort\nk,f,o\n' });
    const { code, printed, paste } = await run(`import a.csv ${rules} ${plan}`);
    expect(code).toBe(2);
    const then = await paste(printed[0]!);
    expect(then.code).toBe(0);
    expect(then.files['a.csv']!.sample).toMatchObject(item);
  });

  it.each([
    ['--map Firm=company_id', { user_id: 'e', company_id: 'a', metadata: { 'First Name': 'f' } }],
    ['--exclude Email', { user_id: 'e', metadata: { 'First Name': 'f', Firm: 'a' } }],
  ])('%s: columns of persons stay users, by the column with the likeliest name', async (rules, item) => {
    const run = folder({ 'a.csv': 'First Name,Email,Firm\nf,e,a\n' });
    const { printed, paste } = await run(`import a.csv ${rules} ${plan}`);
    expect((await paste(printed[0]!)).files['a.csv']!.sample).toMatchObject(item);
  });

  it.each([
    { map: { Firma: 'company_id' } },
    { kind: 'companies', map: { Firma: 'company_id' } },
    { companies: { type: { 'Kunden Nr': 'integer' }, exclude: ['Firma', 'Ort'] } },
    { set: { company_id: 'x' } },
  ])(
    '%j: if the mapping file has such a rule, no command is printed, since none would work',
    async (mapping) => {
      const run = folder({ 'a.csv': 'Kunden Nr,Firma,Ort\nk,f,o\n', 'm.json': JSON.stringify(mapping) });
      const { code, stderr, printed } = await run(`import a.csv --mapping m.json ${plan}`);
      expect([code, printed]).toEqual([2, []]);
      expect(stderr).toContain('say so in the mapping file ("id"), and leave out its rules for identifiers');
    },
  );

  it('of several inputs, such a rule is not in the commands for the mapping file either', async () => {
    const run = folder({ 'a.csv': 'Kunde,Ort\nk,o\n', 'b.csv': 'Kunde,Firma\nk,f\n' });
    const { code, printed, paste } = await run(`import a.csv b.csv --map Kunde=company_id ${plan}`);
    expect(code).toBe(2);
    for (const command of printed.slice(0, 2)) expect((await paste(command)).code).toBe(0);
  });

  it('with --id alone, what is missing is the kind', async () => {
    const run = folder({ 'a.csv': 'Code,Name\nx,y\n' });
    const { printed, paste } = await run(`import a.csv --id Name ${plan}`);
    expect((await paste(printed[0]!)).files['a.csv']!.sample).toEqual({
      company_id: 'y',
      metadata: { Code: 'x' },
    });
  });

  it('for several files, a mapping is written, and then they can be imported', async () => {
    const run = folder({ 'companies.csv': COMPANIES, 'contacts.csv': CONTACTS });
    const { code, printed, paste } = await run(`import companies.csv contacts.csv ${plan}`);
    expect(code).toBe(2);
    const written = await paste(printed[0]!);
    expect(written).toMatchObject({ code: 0, stderr: expect.stringContaining('wrote mapping.json') });
    const { code: then, files } = await paste(printed[1]!);
    expect(then).toBe(0);
    expect(Object.keys(files)).toEqual(['companies.csv', 'contacts.csv']);
  });

  it('the mapping that is written replaces one that did not say enough', async () => {
    const mapping = '{"kind":"users","map":{"Name":"name"},"set":{"source":"crm"}}';
    const run = folder({ 'a.csv': 'Email,Name\na,b\n', 'b.csv': 'Email,Plan\nc,d\n', 'm.json': mapping });
    const { printed, paste } = await run(`import a.csv b.csv --mapping m.json ${plan}`);
    expect((await paste(printed[0]!)).code).toBe(0);
    const { code, files } = await paste(printed[1]!);
    expect(code).toBe(0);
    expect(files['a.csv']!.sample).toEqual({ user_id: 'a', metadata: { name: 'b', source: 'crm' } });
  });
});

describe('mapping files', () => {
  const files = {
    'companies.csv': COMPANIES,
    'contacts.csv': CONTACTS,
    'both.json': JSON.stringify({
      keys: 'snake_case',
      companies: { id: 'Record ID', exclude: ['Email'] },
      users: { id: 'Email', company_id: 'Associated Company ID', exclude: ['Record ID'] },
    }),
    'c.json': JSON.stringify({ kind: 'companies', id: 'Record ID', exclude: ['Email'], keys: 'snake_case' }),
    'u.json': JSON.stringify({
      kind: 'users',
      id: 'Email',
      company_id: 'Associated Company ID',
      exclude: ['Record ID'],
      keys: 'snake_case',
    }),
  };
  const expected = {
    'companies.csv': { kind: 'companies', sample: { company_id: 'r1', metadata: { company_name: 'Acme' } } },
    'contacts.csv': {
      kind: 'users',
      sample: { user_id: 'ann@acme.example', company_id: 'r1', metadata: { first_name: 'Ann' } },
    },
  };

  it.each(['--mapping both.json', '--mapping c.json --mapping u.json'])(
    '%s: each kind by its own rules',
    async (flags) => {
      const run = folder(files);
      // Both files have both identifiers' columns: that one names them says what the rows are.
      const { code, stderr, files: found } = await run(`import companies.csv contacts.csv ${flags} ${plan}`);
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      expect(found).toMatchObject(expected);
    },
  );

  it('two for one kind are refused', async () => {
    const run = folder(files);
    const { code, stderr } = await run(`import companies.csv --mapping c.json --mapping both.json ${plan}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining('two mapping files are for companies')]);
  });

  it('a mapping for one kind decides the kind of a single input', async () => {
    const run = folder({
      ...files,
      'c.csv': 'company_id,user_id\nc1,u1\n',
      'm.json': '{"kind":"companies"}',
    });
    expect((await run(`import c.csv --mapping m.json ${plan}`)).files['c.csv']!.sample).toEqual({
      company_id: 'c1',
      metadata: { user_id: 'u1' },
    });
  });

  it('constant values of a kind survive an interruption, and are not in the state', async () => {
    const run = folder({
      'c.csv': 'company_id\nc1\n',
      'u.csv': 'user_id\nu1\n',
      'm.json': JSON.stringify({ companies: { set: { plan: 'pro' } }, users: { set: { role: 'admin' } } }),
    });
    const { code, stdout } = await run('import c.csv u.csv --mapping m.json --region sandbox --json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ rows: { completed: 2 } });
    expect((await run('sandbox show user u1 --json')).stdout).toContain('admin');
    expect((await run('sandbox show company c1 --json')).stdout).toContain('pro');
  });
});

describe('--keys', () => {
  const header = 'company_id,Annual Revenue ($),HTTPServer,postalCode,Größe,Q3 2024,Contact IDs,_';
  it.each([
    ['as-is', ['Annual Revenue ($)', 'HTTPServer', 'postalCode', 'Größe', 'Q3 2024', 'Contact IDs', '_']],
    ['snake_case', ['annual_revenue', 'http_server', 'postal_code', 'größe', 'q3_2024', 'contact_ids', '_']],
    ['camelCase', ['annualRevenue', 'httpServer', 'postalCode', 'größe', 'q32024', 'contactIds', '_']],
  ])('%s', async (style, keys) => {
    const cells = header.split(',').map((_, index) => `v${index}`);
    const item = Object.fromEntries(header.split(',').map((name, index) => [name, `v${index}`]));
    const { company_id, ...metadata } = item;
    const run = folder({
      'a.csv': `${header}\n${cells.join(',')}\n`,
      'a.json': JSON.stringify([item]),
      'nested.json': JSON.stringify([{ company_id, metadata }]),
      'spread.csv': `company_id,metadata\n${company_id},"${JSON.stringify(metadata).replaceAll('"', '""')}"\n`,
    });
    for (const name of ['a.csv', 'a.json', 'nested.json', 'spread.csv']) {
      const { files } = await run(`import ${name} --keys ${style} ${plan}`);
      expect([name, Object.keys(files[name]!.sample.metadata!)]).toEqual([name, keys]);
    }
  });

  it('--map wins, and two columns of one key are an error', async () => {
    const run = folder({ 'a.csv': 'company_id,Full Name,full-name\nc1,x,y\n' });
    const refused = await run(`import a.csv --keys snake_case ${plan}`);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('both map to the key "full_name"'),
    ]);
    const { files } = await run(`import a.csv --keys snake_case --map full-name=Nick ${plan}`);
    expect(files['a.csv']!.sample.metadata).toEqual({ full_name: 'x', Nick: 'y' });
  });
});

describe('inspect', () => {
  it('works if the kind of the rows is unknown, and prints the import command', async () => {
    const run = folder({ 'contacts.csv': CONTACTS });
    const { code, stderr, stdout, printed, paste } = await run('inspect contacts.csv');
    expect(code).toBe(0);
    expect(stdout).toContain('First Name');
    expect(stderr).toContain('the kind of its rows is not known; this shows them as users by Email');
    const { files } = await paste([...printed[0]!, ...shellWords(plan)]);
    expect(files['contacts.csv']!.sample).toMatchObject({ user_id: 'ann@acme.example' });
  });

  it('writes one mapping for several inputs, under which they are read the same', async () => {
    const run = folder({
      'c.csv': 'company_id,Size\nc1,5\n',
      'c2.csv': 'company_id,Size,Zip\nc2,5.5,07001\n',
      'u.csv': 'user_id,company_id,Age\nu1,c1,7\n',
    });
    expect((await run('inspect c.csv c2.csv u.csv --keys snake_case --write-mapping m.json')).code).toBe(0);
    const direct = await run(`import c.csv c2.csv u.csv --keys snake_case ${plan}`);
    const mapped = await run(`import c.csv c2.csv u.csv --mapping m.json ${plan}`);
    expect(mapped.code).toBe(0);
    expect(mapped.files).toMatchObject({
      'c.csv': { sample: direct.files['c.csv']!.sample },
      'c2.csv': { sample: { metadata: { size: 5.5, zip: '07001' } } },
      'u.csv': { sample: direct.files['u.csv']!.sample },
    });
  });

  it('cannot write one mapping for two names of an identifier', async () => {
    const run = folder({ 'a.csv': 'company_id,n\nc1,5\n', 'b.csv': 'Company ID,n\nc2,5\n' });
    const { code, stderr } = await run('inspect a.csv b.csv --write-mapping m.json');
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('the identifiers of companies have different names'),
    ]);
  });
});
