// What the person sees.
export { openAttached } from './attached.ts'
export { openDelivery } from './deliver.ts'
export { openDrafts } from './draft.ts'
export { explain, explainError, explainRefusal } from './explain.ts'
export { finalKey, openLetters, type Wording } from './letters.ts'
export { type Voice, wordingOf } from './wording.ts'
