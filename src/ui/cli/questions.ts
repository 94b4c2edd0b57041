// Questions at the terminal, one after the other. Ctrl-C and the end of the input throw `Left`.
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Terminal } from './terminal.ts'

export class Left extends Error {
  override readonly name = 'Left'
}

export interface Questions {
  /** The trimmed input, or the default on Enter. */
  ask(question: string, usual: string): Promise<string>
  /** The same, without echoing the input. */
  askSecret(question: string): Promise<string>
  confirm(question: string): Promise<boolean>
}

export function createQuestions(terminal: Terminal): Questions {
  const ask = async (question: string, usual: string) => (await answerTo(terminal, question, false)) || usual
  return {
    ask: (question, usual) => ask(usual === '' ? `${question} ` : `${question} [${usual}] `, usual),
    askSecret: question => answerTo(terminal, `${question} `, true),
    async confirm(question) {
      for (;;) {
        const answer = await ask(`${question} [Y/n] `, 'y')
        if (/^y(es)?$/i.test(answer)) return true
        if (/^no?$/i.test(answer)) return false
        terminal.stderr.write('Say y or n.\n')
      }
    },
  }
}

/** A new interface for each question: between them Ctrl-C goes to the terminal again. */
async function answerTo({ stdin, stderr }: Terminal, question: string, secret: boolean): Promise<string> {
  let silent = false
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!silent) stderr.write(chunk)
      done()
    },
  })
  const columns = stderr.columns || 80
  const lines = createInterface({
    input: stdin,
    output: Object.assign(output, { columns }),
    terminal: true,
    historySize: 0,
  })
  try {
    return await new Promise<string>((resolve, reject) => {
      const leave = () => {
        stderr.write('\n')
        reject(new Left())
      }
      lines.once('SIGINT', leave).once('close', leave)
      lines.question(question, answer => {
        lines.off('close', leave)
        if (secret) stderr.write('\n')
        resolve(answer.trim())
      })
      silent = secret
    })
  } finally {
    lines.close()
  }
}
