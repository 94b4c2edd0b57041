// Whether a mutant compiles: one that the type checker refuses needs no test.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export interface Compiler {
  /** The first error in the file if it had this text; null: none. */
  errorIn(file: string, text: string): string | null
  /** The first error in all of `src/` if the file had this text. */
  errorAnywhere(file: string, text: string): string | null
}

export function createCompiler(root: string): Compiler {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), path => readFileSync(path, 'utf8'))
  const { fileNames, options } = ts.parseJsonConfigFileContent({ ...config, include: ['src'] }, ts.sys, root)
  const changed = new Map<string, { version: number; text: string }>()
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => ({
      ...options,
      noUnusedLocals: false,
      noUnusedParameters: false,
      allowUnreachableCode: true,
    }),
    getScriptFileNames: () => fileNames,
    getScriptVersion: path => String(changed.get(path)?.version ?? 0),
    getScriptSnapshot(path) {
      const text = changed.get(path)?.text ?? (ts.sys.fileExists(path) ? readFileSync(path, 'utf8') : undefined)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  }
  const service = ts.createLanguageService(host)

  function errorWith(file: string, text: string, among: readonly string[]): string | null {
    const path = join(root, file)
    const version = (changed.get(path)?.version ?? 0) + 1
    changed.set(path, { version, text })
    try {
      for (const one of among) {
        const [first] = [...service.getSyntacticDiagnostics(one), ...service.getSemanticDiagnostics(one)]
        if (first) return ts.flattenDiagnosticMessageText(first.messageText, ' ')
      }
      return null
    } finally {
      changed.set(path, { version: version + 1, text: readFileSync(path, 'utf8') })
    }
  }

  return {
    errorIn: (file, text) => errorWith(file, text, [join(root, file)]),
    errorAnywhere: (file, text) =>
      errorWith(
        file,
        text,
        fileNames.filter(name => !name.endsWith('.test.ts')),
      ),
  }
}
