/** `profiles sandbox show`: shows one profile of the sandbox. */

import { Exit, type ExitCode, UsageError } from '../../../engine/errors.js';
import { type Kind, openSandboxData, type Profile, type Region } from '../../../sandbox/index.js';
import type { Context } from '../../context.js';
import { fieldsText } from '../../output/record-text.js';
import { stylesOn } from '../../output/style.js';
import { writeJson, writeOut } from '../../output/write.js';
import type { Flags } from '../command.js';
import { dataFolder } from './data-folder.js';
import { howToImport, regionIn } from './region.js';

interface ShowOptions {
  data: string;
  kind: Kind;
  id: string;
  region: Region;
}

export async function showOptions(
  words: readonly string[],
  flags: Flags,
  context: Context,
): Promise<ShowOptions> {
  const [kind = '', id = ''] = words;
  if (kind !== 'company' && kind !== 'user') {
    throw new UsageError(`unknown kind "${kind}"`, {
      hint: 'profiles sandbox show company <id>, or profiles sandbox show user <id>',
    });
  }
  return {
    data: await dataFolder(flags, context),
    kind: kind === 'company' ? 'companies' : 'users',
    id,
    region: regionIn(flags, context),
  };
}

/** Shows a profile. @throws UsageError for an unknown identifier */
export async function show(options: ShowOptions, context: Context): Promise<ExitCode> {
  const { data, kind, id, region } = options;
  const held = openSandboxData(data, context.clock);
  try {
    const profile = held?.profile(kind, id, region);
    if (profile === undefined) {
      const other = region === 'eu' ? 'default' : 'eu';
      const hint = held?.pending(kind, id, region)
        ? 'the job that imports it has not completed yet'
        : held?.profile(kind, id, other)
          ? `region ${other} has it: use --region ${other}`
          : `import it ${howToImport(region)} first`;
      const noun = kind === 'companies' ? 'company' : 'user';
      throw new UsageError(`no ${noun} "${id}" in the sandbox (region ${region})`, { hint });
    }
    await printProfile(profile, context);
  } finally {
    held?.close();
  }
  return Exit.done;
}

/**
 * With `--json`, prints the profile in the service's shape, with numbers as they were sent, so it can be
 * imported again.
 */
async function printProfile(profile: Profile, { stdout, env, flags }: Context): Promise<void> {
  if (flags.json) return writeJson(stdout, profile.json);
  const { kind, id, region, companyId, metadata } = profile;
  const head = kind === 'companies' ? { company_id: id } : { user_id: id, company_id: companyId };
  const styles = stylesOn(stdout, env, flags);
  const fields = Object.keys(metadata).length === 0 ? '' : `\n${fieldsText(metadata, styles)}`;
  await writeOut(stdout, fieldsText({ ...head, region }, styles) + fields);
}
