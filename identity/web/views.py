"""Signing in and out, by allauth; accounts, factors and sessions come with the settings pages."""

from typing import Any

from allauth.account.views import LoginView, LogoutView

from identity.middleware import public


class SignIn(LoginView):  # type: ignore[misc]
    """The sign-in page: a name and a password."""

    template_name = "account/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The form alone; this server offers no way to sign up."""
        return super(LoginView, self).get_context_data(**kwargs)  # type: ignore[no-any-return]


class SignOut(LogoutView):  # type: ignore[misc]
    """Ends the session on POST; a GET changes nothing and asks."""

    template_name = "account/logout.html"
    http_method_names = ["get", "post", "head", "options"]


sign_in = public(SignIn.as_view())
sign_out = SignOut.as_view()
