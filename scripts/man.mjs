// Writes man/profiles.1 from the command tree of dist/: the text of --help for `man profiles`.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import program from '../dist/main.cjs';

const { commandTree, runCommand } = program;
const { version, description } = JSON.parse(await readFile('package.json', 'utf8'));
const unwired = () => async () => {};

/** Escapes text for roff: backslashes, hyphens, and lines that would begin like a request. */
const roff = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');

const definition = (term, text) => `.TP\n.B ${roff(term)}\n${roff(text)}\n`;
const options = (command) =>
  command.options
    .filter((option) => !option.hidden)
    .map(({ flags, description }) => definition(flags, description))
    .join('');

/** The section of a command and its subcommands. */
function section(command, parents) {
  const name = [...parents, command.name()].join(' ');
  const children = command.commands.filter((child) => child.name() !== 'help');
  const usage = command.usage().replace(/^\[options\] ?/, '');
  return [
    `.SS ${roff(`${name} ${usage}`.trim())}\n${roff(command.description())}.\n`,
    options(command),
    ...children.map((child) => section(child, [...parents, command.name()])),
  ].join('');
}

/** The output of a command line, as preformatted text. */
async function printed(...argv) {
  const chunks = [];
  const stream = new Writable({ write: (chunk, _, done) => done(void chunks.push(String(chunk))) });
  const world = { env: {}, platform: 'linux', cwd: '.', stdout: stream, stderr: stream };
  const code = await runCommand(argv, { ...world, stop: new AbortController().signal });
  if (code !== 0) throw new Error(`profiles ${argv.join(' ')}: exit ${code}: ${chunks.join('')}`);
  const [, ...lines] = chunks.join('').trimEnd().split('\n'); // the first line is its heading
  return `.nf\n${roff(lines.join('\n').trim())}\n.fi\n`;
}

const root = await commandTree([], { stdout: process.stdout }, unwired);
const sections = root.commands.map(async (command) => {
  const name = command.name();
  const { commands } = await commandTree([name], { stdout: process.stdout }, unwired);
  return section(
    commands.find((one) => one.name() === name),
    [],
  );
});
const commands = await Promise.all(sections);

const page = [
  `.TH PROFILES 1 "" "profiles ${version}" "User Commands"\n`,
  `.SH NAME\nprofiles \\- ${roff(description.toLowerCase().replace(/\.$/, ''))}\n`,
  '.SH SYNOPSIS\n.B profiles\n[\\fIglobal options\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n',
  `.SH COMMANDS\n${commands.join('')}`,
  `.SH GLOBAL OPTIONS\n${options(root)}`,
  `.SH SETTINGS\n${await printed('help', 'settings')}`,
  `.SH EXIT STATUS\n${await printed('help', 'exit-codes')}`,
  `.SH ENVIRONMENT\n${await printed('help', 'environment')}`,
].join('');

await mkdir('man', { recursive: true });
await writeFile('man/profiles.1', page);
