// The history that people share with their team.

import { type TeamHistory, type TeamSession, client } from "./api.ts";

export const readTeamHistory = (signal: AbortSignal) => client.get("/v1/team/history", { signal });

/** Whether this person may remove a shared session: it is theirs, or they are an admin of its project. */
export function mayRemove({ person, projects }: TeamHistory, session: TeamSession): boolean {
  const isAdmin = projects?.some(({ name, members }) => name === session.project && members.some((member) => member.person === person && member.role === "admin"));
  return session.person === person || isAdmin === true;
}
