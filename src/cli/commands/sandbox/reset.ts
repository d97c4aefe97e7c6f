/** `profiles sandbox reset`: erases all profiles and jobs of the sandbox. */

import { Exit, type ExitCode } from '../../../engine/errors.js';
import { count } from '../../../engine/numbers.js';
import { openSandboxData } from '../../../sandbox/index.js';
import type { Context } from '../../context.js';
import { writeJson, writeOut } from '../../output/write.js';

export async function reset(data: string, { stdout, clock, flags }: Context): Promise<ExitCode> {
  const held = openSandboxData(data, clock);
  const erased = held?.reset() ?? { companies: 0, users: 0, jobs: 0 };
  held?.close();
  if (flags.json) await writeJson(stdout, JSON.stringify({ erased, data }, null, 2));
  else {
    const companies = count(erased.companies, 'company', 'companies');
    const [users, jobs] = [count(erased.users, 'user'), count(erased.jobs, 'job')];
    await writeOut(stdout, `erased ${companies}, ${users}, and ${jobs} from ${data}\n`);
  }
  return Exit.done;
}
