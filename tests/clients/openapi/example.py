"""A generated client: its modules import, and its models read and write the API's JSON."""

from bethink_client.api.sessions import session_create, session_list
from bethink_client.client import AuthenticatedClient
from bethink_client.models import AppendRequest, CreateSession, FillLevel, Prompt

request = CreateSession(project_dir="/tmp", title="a session")
assert request.to_dict() == {"project_dir": "/tmp", "title": "a session"}

sent = {"messages": [{"role": "user", "content": "Why is the build red?"}]}
assert AppendRequest.from_dict(sent).to_dict() == sent

assert FillLevel("auto").value == "auto"
assert Prompt.__doc__
client = AuthenticatedClient(base_url="http://127.0.0.1:1", token="none")
assert session_create._get_kwargs(body=request)["url"] == "/v1/sessions"
assert session_list.sync_detailed and client
