// A name or a place that somebody else chose, made fit for one line of ours.
import { excerpt } from './scrub.ts'

/** Letters, digits, marks, signs, and of punctuation only what cannot end a line, open a bracket or begin a clause of ours. */
const unfit = /[^\p{L}\p{M}\p{N}\p{So}\p{Sc}_.'#&@!?/-]+/gu

/** On one line, without brackets, quotes, commas, colons or anything that cannot be seen; at most `max` characters. */
export const label = (text: string, max = 60): string => excerpt(text.slice(0, 4 * max).replace(unfit, ' '), max)
