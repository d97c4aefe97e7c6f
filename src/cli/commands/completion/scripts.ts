/** The scripts that connect a shell with `profiles completion complete`. */
import { script } from '@bomb.sh/tab';
import type { Shell } from './suggest.js';

/**
 * The command that the scripts call: ours and those of `@bomb.sh/tab` append `complete` and the typed words.
 */
const CALL = 'profiles completion';

/**
 * bash has its own script, because the one of `@bomb.sh/tab` needs the bash-completion package, evaluates
 * what is being typed, declares read-only variables (so it cannot be loaded twice), and never completes a
 * file name.
 */
const BASH = `# bash completion for profiles
_profiles_complete() {
    local line=\${COMP_LINE:0:COMP_POINT} reply directive=0 value rest word flag= before= breaks
    COMPREPLY=()
    reply=$(${CALL} complete --line "$line" 2>/dev/null) || return 0
    word=\${line##*[[:space:]]}
    # Values come without the "--flag=" before them; readline wants what follows its last word break.
    breaks=\${COMP_WORDBREAKS//[^=:]/}
    if [[ $word == --*=* ]]; then
        flag=\${word%%=*}=
        word=\${word#*=}
        if [[ $breaks == *=* ]]; then flag=; fi
    fi
    if [[ $breaks == *:* && $word == *:* ]]; then
        flag=
        before=\${word%:*}:
    fi
    while IFS=$'\\t' read -r value rest; do
        case $value in
            '') ;;
            :*) directive=\${value#:} ;;
            *) COMPREPLY+=("$flag\${value#"$before"}") ;;
        esac
    done <<< "$reply"
    if (( directive & 2 )); then compopt -o nospace 2>/dev/null; fi
    if (( directive & 4 )); then compopt +o default 2>/dev/null; fi
    if (( directive & 32 )); then compopt -o nosort 2>/dev/null; fi
    return 0
}
complete -o default -F _profiles_complete profiles`;

/** The completion script for a shell, without a line break at the end. */
export function scriptFor(shell: Shell): string {
  if (shell === 'bash') return BASH;
  const text = printed(() => script(shell, 'profiles', CALL)).trimEnd();
  return shell === 'zsh' ? text.replace(ZSH_COLON.theirs, ZSH_COLON.ours) : text;
}

/**
 * In zsh, a colon ends a value and starts its description unless it is escaped, and job ids contain colons.
 * The script of tab 0.0.22 loses the backslash: zsh 5.9 would complete `urn` for `urn:job:77`.
 */
const ZSH_COLON = { theirs: '{comp//:/\\:}', ours: '{comp//:/\\\\:}' };

/**
 * Captures what a function prints, because `@bomb.sh/tab` can only print its scripts. It is synchronous, so
 * it captures no other output.
 */
function printed(print: () => void): string {
  const { log } = console;
  const lines: string[] = [];
  console.log = (line: string) => lines.push(line);
  try {
    print();
  } finally {
    console.log = log;
  }
  return lines.join('\n');
}
