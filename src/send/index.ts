// What people see: answers, drafts, notices and explanations.
export { createAttached } from './attached.ts'
export {
  createDeliver,
  createDeliveries,
  finalKey,
  piecesOf,
  type Wording,
  wordingFor,
  wordingOf,
} from './deliveries.ts'
export { createDrafts } from './draft.ts'
export { explain, explainRefusal } from './explain.ts'
export { changeNotice, createNotices, notifyOfBudget } from './notices.ts'
export { createRequestMessages, requestButtons } from './request-messages.ts'
export { createUnprompted } from './unprompted.ts'
export { workDocument, workLines } from './work-words.ts'
