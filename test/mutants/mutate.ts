// Small changes to a source file, each of which some test should notice.
import ts from 'typescript'

export interface Mutant {
  /** Relative to the repository. */
  readonly file: string
  readonly line: number
  readonly kind: string
  readonly start: number
  readonly end: number
  readonly was: string
  /** What the text becomes: the first that compiles. */
  readonly puts: readonly string[]
  /** The index of the function that contains it, within the file; -1: none. */
  readonly inside: number
}

const opposites: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
  [ts.SyntaxKind.PlusEqualsToken]: '-=',
  [ts.SyntaxKind.MinusEqualsToken]: '+=',
}

/** Methods that can be dropped from a call chain without a type error. */
const droppable = new Set([
  'catch',
  'filter',
  'finally',
  'reverse',
  'slice',
  'sort',
  'toLowerCase',
  'toReversed',
  'toSorted',
  'trim',
  'trimEnd',
])

/** All mutants of a file, in the order of its text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: Mutant[] = []
  let functions = 0

  const visit = (node: ts.Node, inside: number): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return
    const add = (kind: string, at: ts.Node | readonly [number, number], ...puts: string[]) => {
      const [start, end] = 'kind' in at ? [at.getStart(source), at.end] : at
      const line = source.getLineAndCharacterOfPosition(start).line + 1
      found.push({ file, line, kind, start, end, was: text.slice(start, end), puts, inside })
    }
    const body = hasBody(node) ? functions++ : inside
    changes(node, source, add)
    ts.forEachChild(node, child => visit(child, hasBody(node) && child === node.body ? body : inside))
  }
  visit(source, -1)
  return found.sort((a, b) => a.start - b.start || a.end - b.end)
}

type Add = (kind: string, at: ts.Node | readonly [number, number], ...puts: string[]) => void

function changes(node: ts.Node, source: ts.SourceFile, add: Add): void {
  const textOf = (part: ts.Node) => part.getText(source)
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) negate(node.expression, textOf, add)
  else if (ts.isConditionalExpression(node)) negate(node.condition, textOf, add)
  else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    add('drop !', node, textOf(node.operand))
  else if (ts.isBinaryExpression(node)) {
    const put = opposites[node.operatorToken.kind]
    if (put) add('operator', node.operatorToken, put)
  } else if (node.kind === ts.SyntaxKind.TrueKeyword) add('literal', node, 'false')
  else if (node.kind === ts.SyntaxKind.FalseKeyword) add('literal', node, 'true')
  else if (ts.isNumericLiteral(node) && (node.text === '0' || node.text === '1'))
    add('literal', node, node.text === '0' ? '1' : '0')
  else if (ts.isStringLiteral(node) && node.text === '') add('literal', node, "'x'")
  else if (ts.isExpressionStatement(node) && !isLogging(node.expression, source)) add('drop statement', node, ';')
  else if (ts.isAwaitExpression(node)) add('drop await', node, textOf(node.expression))
  else if (ts.isReturnStatement(node) && node.expression) empty(node.expression, textOf, add)
  else if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) empty(node.body, textOf, add)
  else if (ts.isSpreadElement(node) || ts.isSpreadAssignment(node)) {
    const after = source.text.slice(node.end).match(/^\s*,/)?.[0].length ?? 0
    if (!ts.isCallExpression(node.parent)) add('drop spread', [node.getStart(source), node.end + after], '')
  } else if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { expression: before, name } = node.expression
    if (droppable.has(name.text)) add(`drop .${name.text}`, node, textOf(before))
    if (textOf(before) === 'Math' && (name.text === 'min' || name.text === 'max'))
      add('operator', name, name.text === 'min' ? 'max' : 'min')
  }
}

function negate(condition: ts.Expression, textOf: (node: ts.Node) => string, add: Add): void {
  // Its operator has an equivalent mutant.
  if (ts.isPrefixUnaryExpression(condition)) return
  if (ts.isBinaryExpression(condition) && /^[!=]==$/.test(textOf(condition.operatorToken))) return
  add('negate', condition, `!(${textOf(condition)})`)
}

/** Replaces the return value by nothing, in whichever way the type allows. */
function empty(value: ts.Expression, textOf: (node: ts.Node) => string, add: Add): void {
  const now = textOf(value)
  const puts = ['undefined', 'null', '[]', "''", 'false', 'true', '0', 'Promise.resolve()']
  if (!ts.isObjectLiteralExpression(value) && !puts.includes(now)) add('return nothing', value, ...puts)
}

/** Log calls are left out: nothing depends on them. */
const isLogging = (expression: ts.Expression, source: ts.SourceFile) =>
  /^(log|console)(\?)?\.\w+\(/.test(expression.getText(source))

function hasBody(node: ts.Node): node is ts.FunctionLikeDeclaration & { body: ts.Node } {
  return (
    (ts.isFunctionDeclaration(node) ||
      ts.isFunctionExpression(node) ||
      ts.isArrowFunction(node) ||
      ts.isMethodDeclaration(node) ||
      ts.isGetAccessor(node) ||
      ts.isSetAccessor(node) ||
      ts.isConstructorDeclaration(node)) &&
    node.body !== undefined
  )
}

/** The file with a probe at the beginning of each function that records the call; numbered like `inside`. */
export function withProbes(file: string, text: string): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const inserts: { at: number; put: string }[] = []
  let functions = 0
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node)) return
    if (hasBody(node)) {
      const call = `globalThis.__called?.(${JSON.stringify(`${file}#${functions++}`)})`
      const { body } = node
      if (!ts.isBlock(body)) {
        inserts.push({ at: body.getStart(source), put: `(${call}, ` }, { at: body.end, put: ')' })
      } else if (!ts.isConstructorDeclaration(node)) inserts.push({ at: body.getStart(source) + 1, put: `${call};` })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  let changed = text
  for (const { at, put } of inserts.sort((a, b) => b.at - a.at))
    changed = changed.slice(0, at) + put + changed.slice(at)
  return `globalThis.__called?.(${JSON.stringify(`${file}#-1`)});${changed}`
}
