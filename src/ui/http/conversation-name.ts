// The names of conversations that a client may use.

export const conversationName = /^[A-Za-z0-9._-]{1,64}$/
