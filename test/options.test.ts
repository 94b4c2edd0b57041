// The command-line flags agree with the table of options.
import { expect, test } from 'vitest'
import { eachOption } from '../src/config/index.ts'
import { buildProgram } from '../src/ui/cli/program.ts'
import { noPorts } from './fakes/ports.ts'
import { fakeTerminal } from './fakes/terminal.ts'

const program = buildProgram(noPorts(), fakeTerminal(), '1.2.3', () => undefined)
const start = program.commands.find(command => command.name() === 'start')
const offered = [...program.options, ...(start?.options ?? [])]

test.each(
  eachOption().flatMap(([key, { flag, kind }]) => (flag === undefined ? [] : [{ key, flag, choices: kind.choices }])),
)('--$flag is offered, with the words that $key takes', ({ flag, choices }) => {
  const option = offered.find(({ long }) => long === `--${flag}`)
  expect(option).toBeDefined()
  expect(option?.argChoices).toEqual(choices)
})
