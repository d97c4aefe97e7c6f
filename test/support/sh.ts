/**
 * Runs lines of a POSIX shell. One small `sh` starts them: this process has so much memory that each process it starts
 * itself takes 20 to 60 ms, nearly all of it to copy the tables of its pages.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

export interface Ran {
  stdout: Buffer;
  stderr: string;
  status: number;
}

interface Shell {
  child: ChildProcess;
  statuses: AsyncIterator<string>;
  folder: string;
}

let shell: Shell | undefined;
let before: Promise<unknown> = Promise.resolve();

/** It ends with its standard input, at the latest when this process does, and keeps it from ending no longer than that. */
function started(): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'sh-'));
  const child = spawn('sh', [], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: Interface = createInterface({ input: child.stdout! });
  child.unref();
  for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void }).unref();
  return { child, statuses: lines[Symbol.asyncIterator](), folder };
}

/** A text as one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs one line after the other. @param input its standard input */
export function sh(line: string, { cwd = tmpdir(), input = '' } = {}): Promise<Ran> {
  const next = before.then(async () => {
    shell ??= started();
    const { child, statuses, folder } = shell;
    const at = (name: string): string => join(folder, name);
    writeFileSync(at('line'), line);
    writeFileSync(at('in'), input);
    const where = quoted(folder);
    child.stdin!.write(
      `(cd ${quoted(cwd)} && exec sh ${where}/line) <${where}/in >${where}/out 2>${where}/err; echo $?\n`,
    );
    const keepsAlive = setInterval(() => {}, 60_000);
    const { value: status } = await statuses.next();
    clearInterval(keepsAlive);
    return {
      stdout: readFileSync(at('out')),
      stderr: readFileSync(at('err'), 'utf8'),
      status: Number(status),
    };
  });
  before = next.catch(() => {});
  return next;
}

/** Splits a command line into words as a POSIX shell does: enough for examples, which have no variables. */
export function shellWords(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  );
}
