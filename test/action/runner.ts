/** The `run:` steps of action.yml, as a runner of GitHub executes them: inputs in `env`, bash, files for outputs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { binIn } from '../support/child.js';
import { scratch } from '../support/cli.js';

const ROOT = resolve(import.meta.dirname, '../..');
export const ACTION = readFileSync(join(ROOT, 'action.yml'), 'utf8');

/** Names and defaults of the inputs. */
export const INPUTS: Readonly<Record<string, string>> = Object.fromEntries(
  [...ACTION.slice(0, ACTION.indexOf('\noutputs:')).matchAll(/^ {2}([a-z-]+):\n(?: {4}.*\n)*/gm)].map(
    ([block, name]) => [name!, /^ {4}default: '?(.*?)'?$/m.exec(block)?.[1] ?? ''],
  ),
);
export const OUTPUTS = [
  ...ACTION.slice(ACTION.indexOf('\noutputs:')).matchAll(/^ {2}([a-z-]+):\n {4}desc/gm),
].map(([, name]) => name!);

interface Step {
  env: Record<string, string>;
  script: string;
}

/** A step that has an id and a script. */
export function step(id: string): Step {
  const text = ACTION.split(/^ {4}- /m).find((part) => part.startsWith(`id: ${id}\n`))!;
  const env = /^ {6}env:\n((?: {8}\w+: .*\n)+)/m.exec(text)![1]!;
  return {
    env: Object.fromEntries(
      [...env.matchAll(/^ {8}(\w+): (.*)$/gm)].map(([, name, value]) => [name!, value!]),
    ),
    script: text
      .slice(text.indexOf('run: |\n') + 'run: |\n'.length)
      .replace(/^ {8}/gm, '')
      .trimEnd(),
  };
}

export interface Result {
  code: number;
  /** Of this step, by name. */
  outputs: Record<string, string>;
  log: string;
  summary: string;
}

/** One job on one machine: what it holds stays from step to step. */
export class Runner {
  readonly workspace = scratch();
  readonly temp = scratch();

  constructor(private readonly env: Record<string, string>) {
    for (const file of ['companies.csv', 'users.csv'])
      copyFileSync(join(ROOT, 'fixtures', file), join(this.workspace, file));
    binIn(this.temp);
  }

  /** Runs a step with the inputs that differ from their defaults, and outputs of the step before it. */
  async run(
    id: string,
    inputs: Record<string, string>,
    { steps = {}, env = {} }: { steps?: Record<string, string>; env?: Record<string, string> } = {},
  ): Promise<Result> {
    const { env: wanted, script } = step(id);
    const expression = (text: string): string =>
      text.replace(/^\$\{\{ (?:inputs\.([\w-]+)|steps\.(\w+\.outputs\.\w+)) \}\}$/, (_, input, output) => {
        if (output) return steps[output] ?? '';
        if (!(input in INPUTS)) throw new Error(`no input ${input}`);
        return inputs[input] ?? INPUTS[input]!;
      });
    const folder = scratch();
    const file = (name: string): string => join(folder, name);
    for (const name of ['output', 'summary', 'path', 'script.sh']) writeFileSync(file(name), '');
    writeFileSync(file('script.sh'), script);
    // As `shell: bash` does.
    const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', file('script.sh')], {
      cwd: resolve(this.workspace, inputs['working-directory'] ?? '.'),
      env: {
        PATH: `${join(this.temp, 'bin')}:${process.env.PATH}`,
        HOME: this.temp,
        CI: 'true',
        GITHUB_ACTIONS: 'true',
        GITHUB_ACTION_PATH: ROOT,
        GITHUB_WORKSPACE: this.workspace,
        GITHUB_OUTPUT: file('output'),
        GITHUB_PATH: file('path'),
        GITHUB_STEP_SUMMARY: file('summary'),
        RUNNER_TEMP: this.temp,
        ...this.env,
        ...env,
        ...Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, expression(value)])),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let log = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (log += text));
    const [code] = (await once(child, 'close')) as [number];
    const read = (name: string): string => readFileSync(file(name), 'utf8');
    return { code, outputs: outputsIn(read('output')), log, summary: read('summary') };
  }

  /** Both steps, as a workflow that uses the action runs them. */
  async import(inputs: Record<string, string>, env: Record<string, string> = {}): Promise<Result> {
    const setup = await this.run('setup', { version: 'installed', ...inputs }, { env });
    if (setup.code !== 0) return setup;
    const steps = { 'setup.outputs.cache': setup.outputs.cache ?? '' };
    const result = await this.run('import', inputs, { steps, env });
    return { ...result, log: setup.log + result.log };
  }
}

/** As GitHub reads the file: `name=value`, or `name<<end`, lines, `end`. The last of a name wins. */
function outputsIn(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const [, name, end] = /^([\w-]+)<<(.+)$/.exec(lines[at]!) ?? [];
    if (name !== undefined) {
      const stop = lines.indexOf(end!, at + 1);
      if (stop < 0) throw new Error(`${name} has no end`);
      found[name] = lines.slice(at + 1, stop).join('\n');
      at = stop;
    } else if (lines[at] !== '') {
      const [, key, value] = /^([\w-]+)=(.*)$/.exec(lines[at]!) ?? [];
      if (key === undefined) throw new Error(`not an output: ${lines[at]}`);
      found[key] = value!;
    }
  }
  return found;
}
