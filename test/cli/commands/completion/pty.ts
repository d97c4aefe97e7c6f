/** An interactive shell in a pseudo-terminal (`script` of util-linux), and the keys that are pressed in it. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const TAB = '\t';
const CTRL_U = '\u0015';
/** Not Ctrl-X: shells wait for a second key after it. */
const CTRL_T = '\u0014';

export interface Shell {
  /** Types a line and a Tab into an empty line, and gives the line as it then is. */
  press(typed: string): Promise<string>;
  close(): void;
}

/**
 * @param start lines that set the shell up, bind Ctrl-T to writing the line into the file `line`, and print `ready`
 */
export async function openShell(
  command: string,
  start: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Shell> {
  const written = join(cwd, 'line');
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let screen = '';
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk;
  });
  child.stdin.write(`${start.join('\n')}\n`);
  await until(
    () => /^ready/m.test(screen),
    () => `the shell did not start:\n${screen}`,
  );
  return {
    press: async (typed) => {
      rmSync(written, { force: true });
      child.stdin.write(CTRL_U + typed + TAB + CTRL_T);
      await until(
        () => existsSync(written) && readFileSync(written, 'utf8') !== '',
        () => `nothing was written:\n${screen}`,
      );
      return readFileSync(written, 'utf8');
    },
    close: () => void child.kill('SIGKILL'),
  };
}

const PATIENCE_MS = process.env.CI ? 60_000 : 15_000;

/** The shell is another process: it can only be looked at again and again. */
async function until(done: () => boolean, why: () => string): Promise<void> {
  for (let waited = 0; !done(); waited += 10) {
    if (waited > PATIENCE_MS) throw new Error(why());
    await sleep(10);
  }
}
