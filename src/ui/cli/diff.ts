// Renders a unified diff.
import { type Paint, withoutControls } from './terminal.ts'

const styles = { '+': 'green', '-': 'red', '@': 'cyan' } as const

export const renderDiff = (diff: string, paint: Paint): readonly string[] =>
  withoutControls(diff)
    .replace(/\n$/, '')
    .split('\n')
    .map(line => {
      const style = styles[line.charAt(0) as keyof typeof styles]
      return `    ${style === undefined ? line : paint(style, line)}`
    })
