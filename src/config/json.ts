// Parses JSON with comments and trailing commas, and reports a mistake with its line and column.
import { type JSONVisitor, type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

export type JsonRead =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly line: number; readonly column: number; readonly why: string }

/** The message of a mistake never quotes the text: it may contain secrets. */
export function readJson(text: string): JsonRead {
  // The parser does not accept a byte order mark.
  const plain = text.startsWith('\ufeff') ? ` ${text.slice(1)}` : text
  const builder = valueBuilder()
  try {
    visit(plain, builder.visitor, { allowTrailingComma: true })
    return { ok: true, value: builder.value() }
  } catch (error) {
    if (!(error instanceof JsonMistake)) throw error
    const before = plain.slice(0, error.at).split('\n')
    return { ok: false, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, why: error.message }
  }
}

/** Ends the parsing: the parser itself would continue after a mistake. */
class JsonMistake extends Error {
  readonly at: number
  constructor(why: string, at: number) {
    super(why)
    this.at = at
  }
}

interface Container {
  readonly isArray: boolean
  readonly keys: Set<string>
  put(value: JsonValue): void
}

type Expected = 'value' | 'key' | 'colon' | 'comma'

// Far more than any configuration needs, and far less than what would overflow the stack.
const deepest = 100

function valueBuilder(): { readonly visitor: JSONVisitor; value(): JsonValue } {
  let root: JsonValue = null
  const open: Container[] = []
  let key = ''
  let expected: Expected = 'value'
  /** What was expected at the end of the last object or list. */
  let atItsEnd: Expected = 'comma'

  function put(value: JsonValue): void {
    const parent = open.at(-1)
    if (parent) parent.put(value)
    else root = value
    expected = 'comma'
  }
  function enter(value: JsonValue, at: number, container: Container): void {
    if (open.length >= deepest) throw new JsonMistake(`nested deeper than ${deepest} levels`, at)
    put(value)
    open.push(container)
    expected = container.isArray ? 'value' : 'key'
  }
  function leave(): void {
    open.pop()
    atItsEnd = expected
    expected = 'comma'
  }
  return {
    value: () => root,
    visitor: {
      onObjectBegin(at) {
        // Without a prototype, so that `__proto__` is an ordinary key.
        const object: Record<string, JsonValue> = Object.create(null)
        enter(object, at, {
          isArray: false,
          keys: new Set(),
          put(value) {
            object[key] = value
          },
        })
      },
      onObjectProperty(name, at) {
        const { keys = new Set() } = open.at(-1) ?? {}
        if (keys.has(name)) throw new JsonMistake('this key occurs twice', at)
        keys.add(name)
        key = name
        expected = 'colon'
      },
      onObjectEnd: leave,
      onArrayBegin(at) {
        const array: JsonValue[] = []
        enter(array, at, { isArray: true, keys: new Set(), put: value => array.push(value) })
      },
      onArrayEnd: leave,
      onLiteralValue: put,
      onSeparator(sign) {
        expected = sign === ':' || open.at(-1)?.isArray ? 'value' : 'key'
      },
      onError(code, at) {
        throw new JsonMistake(mistake(code, expected, open.at(-1)?.isArray ?? null, atItsEnd), at)
      },
    },
  }
}

/** `inArray`: null at the top level. */
function mistake(code: ParseErrorCode, expected: Expected, inArray: boolean | null, atItsEnd: Expected): string {
  switch (printParseErrorCode(code)) {
    case 'UnexpectedEndOfString':
      return 'this string has no closing double quote'
    case 'InvalidUnicode':
    case 'InvalidEscapeCharacter':
    case 'InvalidCharacter':
      return 'this string has an invalid escape or a control character'
    case 'UnexpectedEndOfComment':
      return 'this comment has no end'
    case 'CloseBraceExpected':
      return expectation(atItsEnd, false)
    case 'CloseBracketExpected':
      return expectation(atItsEnd, true)
    default:
      return expectation(expected, inArray)
  }
}

function expectation(expected: Expected, inArray: boolean | null): string {
  switch (expected) {
    case 'value':
      return 'expected a value: text in double quotes, a number, true, false, null, [ or {'
    case 'key':
      return 'expected a key in double quotes or "}"'
    case 'colon':
      return 'expected ":" after the key'
    case 'comma':
      return inArray === null ? 'expected nothing after the end' : `expected "," or "${inArray ? ']' : '}'}"`
  }
}
