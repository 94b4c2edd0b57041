// What the person sees.
export { openAttached } from './attached.ts'
export { openDelivery } from './deliver.ts'
export { openDrafts } from './draft.ts'
export { explain, explainRefusal } from './explain.ts'
export { finalKey, openLetters, piecesFor, withFilesNamed } from './letters.ts'
export { openSaying } from './saying.ts'
export { wordingFor, wordingOf } from './wording.ts'
