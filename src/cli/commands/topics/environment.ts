/** `profiles help environment` (contract §2). */
import { paragraph, twoColumns } from './layout.js';

const OURS = [
  ['PROFILES_TOKEN', 'the API key'],
  ['PROFILES_REGION', 'default, eu, sandbox, or a region of the config file'],
  ['PROFILES_BASE_URL', 'host of bulk and job operations'],
  ['PROFILES_LOOKUP_BASE_URL', 'host of lookup lists'],
  ['PROFILES_ACCOUNT', 'an account of the config file'],
  ['PROFILES_CONFIG', 'the config file'],
  ['PROFILES_STATE_DIR', 'where runs, jobs and the sandbox are kept; in CI, keep it in the cache'],
  ['PROFILES_PROGRESS', 'auto, plain (a line per change, no control sequences) or none'],
  ['PROFILES_ALLOW_HTTP', 'hosts, separated by commas, that http:// may be used for; loopback always may'],
] as const;

const USUAL = [
  ['NO_COLOR, FORCE_COLOR', 'no colour at all; colour in a pipe too. --no-color goes before both'],
  ['CI, GITHUB_ACTIONS', 'plain progress; annotations and a step summary in GitHub Actions'],
  ['GITHUB_STEP_SUMMARY', 'the file that the step summary is added to'],
  ['GITHUB_WORKSPACE', 'the folder that paths in annotations count from'],
  ['TERM', 'dumb: no animation and no control sequence'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'proxies. Loopback never goes through one'],
  ['NODE_EXTRA_CA_CERTS', 'a file with certificates to trust besides the built-in ones'],
  ['XDG_CONFIG_HOME, XDG_STATE_HOME', 'where the config file and the state are by default'],
  ['APPDATA, LOCALAPPDATA', 'the same on Windows'],
] as const;

export function environment(): string {
  return `Environment

${twoColumns(OURS)}

Usual ones that are heeded:

${twoColumns(USUAL)}

${paragraph(`A flag goes before the environment, the environment before the config file. A variable that is
set to nothing counts as absent. A region or account chosen by a flag brings its own hosts:
PROFILES_BASE_URL and PROFILES_LOOKUP_BASE_URL are then ignored, with a warning; with --account
PROFILES_TOKEN too. profiles config list shows what is in effect, and from where.`)}`;
}
