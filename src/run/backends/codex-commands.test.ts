import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commandIn, fileRead } from './codex-commands.ts'

describe('a command of codex', () => {
  test.each([
    ["/bin/bash -lc 'touch made.txt'", 'touch made.txt'],
    ['/bin/bash -lc ls', 'ls'],
    ['/usr/bin/zsh -lc "echo \\"it\'s\\" \\$HOME"', 'echo "it\'s" $HOME'],
    ["bash -c 'it'\"'\"'s'", "it's"],
    ["bash -lc 'a\nb'", 'a\nb'],
    // More than one word, or something a shell replaces: shown as it is.
    ["bash -lc 'ls' rm", "bash -lc 'ls' rm"],
    ['bash -lc "$(rm -r x)"', 'bash -lc "$(rm -r x)"'],
    ['git status', 'git status'],
  ])('%s is %s', (line, command) => expect(commandIn(line)).toBe(command))

  test('any script in single quotes comes out as it is', () =>
    fc.assert(
      fc.property(fc.string(), script => {
        fc.pre(script !== '')
        expect(commandIn(`/bin/bash -lc '${script.replaceAll("'", "'\"'\"'")}'`)).toBe(script)
      }),
    ))
})

describe('a command that only reads', () => {
  test.each([
    ['cat notes.md', '/space/notes.md'],
    ['ls', '/space'],
    ['ls -la src', '/space/src'],
    ["sed -n '1,200p' /etc/hosts", '/etc/hosts'],
    ['head -n 20 a.txt', '/space/a.txt'],
    ["rg -n 'a|b $(c)' src", '/space/src'],
    ['grep -rn word src/run', '/space/src/run'],
  ])('%s reads %s', (command, path) => expect(fileRead(command, '/space')).toBe(path))

  test.each([
    ...['cat a b', 'cat a > b', 'cat a; rm b', 'cat $(x)', 'cat `x`', 'cat ~/x', 'cat *', 'ls\nrm x', 'cat a\n', 'cat'],
    ...['cat a|sh', 'cat a&', 'sed -i s/a/b/ f', "sed -n '1w x' f", 'sed -n 1p -i f', 'head --x a', 'tail -f -- -x'],
    ...["rg '--pre=sh' x", 'rg -z x y', "grep 'a' b; c", "rg 'a'b' c'", "rg 'a\nb' c", 'rg a'],
    ...['find . -delete', 'rg --pre x y', 'Cat a', 'ls && rm a', "cat 'a b'", 'cat a b c', '/tmp/cat a', 'catx a'],
  ])('%s may do something else', command => expect(fileRead(command, '/space')).toBeNull())
})
