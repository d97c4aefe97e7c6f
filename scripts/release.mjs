// npm run release: everything before a publication. It publishes nothing itself.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';

const shell = process.platform === 'win32';
const git = (...words) => execFileSync('git', words, { encoding: 'utf8' }).trim();
const npm = (...words) => execFileSync('npm', words, { stdio: 'inherit', shell });
const check = (holds, otherwise) => {
  if (!holds) throw new Error(otherwise);
};

try {
  const { name, version, repository } = JSON.parse(await readFile('package.json', 'utf8'));
  check(git('status', '--porcelain') === '', 'the working tree is not clean: commit first');
  check(git('tag', '--list', `v${version}`) === '', `v${version} is tagged already: npm version <new>`);
  const changes = await readFile('CHANGELOG.md', 'utf8');
  check(changes.includes(`\n## ${version}\n`), `CHANGELOG.md says nothing about ${version}`);

  npm('ci');
  npm('run', 'notices', '--', '--check');
  for (const script of ['knip', 'test', 'test:processes', 'test:nodes', 'test:packed']) npm('run', script);
  check(git('status', '--porcelain') === '', 'the checks changed the working tree: look at git status');
  npm('pack');

  const file = `${name}-${version}.tgz`;
  const steps = [
    // The packed file is published as it is, so what is missing in package.json must be added before packing.
    ...(repository ? [] : ['name the repository in package.json, commit, and npm run release again']),
    `git tag v${version} && git push origin v${version}`,
    `in CI, which can vouch for where it was built: npm publish --provenance ${file}`,
  ];
  console.log(`\n${file} is what was tested. What is left is for a person:`);
  for (const [index, step] of steps.entries()) console.log(`  ${index + 1}. ${step}`);
} catch (error) {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
