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
  npm('run', 'knip');
  npm('test');
  npm('run', 'test:processes');
  npm('run', 'test:nodes');
  npm('run', 'test:packed');
  check(git('status', '--porcelain') === '', 'the checks changed the working tree: look at git status');
  npm('pack');

  const file = `${name}-${version}.tgz`;
  // The packed file is published as it is, so what is missing in package.json must be added before packing.
  const missing = [
    !repository && 'name the repository in package.json: provenance is held against it',
  ].filter(Boolean);
  const steps = missing.length
    ? [...missing, 'commit, and npm run release again']
    : [
        `git tag v${version} && git push origin v${version}`,
        `in CI, which can vouch for where it was built: npm publish --provenance ${file}`,
      ];
  console.log(`\n${file} is what was tested. What is left is for a person:`);
  for (const [index, step] of steps.entries()) console.log(`  ${index + 1}. ${step}`);
} catch (error) {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
